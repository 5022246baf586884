#!/usr/bin/env python3
"""Where the orrery's bodies are after a thousand days, computed a second time.

Runs the orrery's scene (with a smaller belt) and solves Kepler's equation for each body by bisection, from the elements in the scene and, for asteroids, in the file that
the run writes. The plugin that is off by one part in a million in its mean motion must be found out.
"""
import json
import math
import os
import re
import subprocess
import sys
import tempfile

PROGRAM = os.environ['MICA_PROGRAM']
PLUGINS = os.path.join(os.environ['MICA_BINARY_DIR'], 'plugins')
SCENE = os.path.join(os.environ['MICA_SOURCE_DIR'], 'examples', 'orrery', 'orrery.json')
TICKS = 1000
ASTEROIDS = 500
# Positions are floats: half a unit in the last place of a number up to twice the axis is 1.2e-7 of the axis.
TOLERANCE = 2.5e-7


def eccentric_anomaly(mean, eccentricity):
    """Solves M = E - e sin E by bisection: the right side grows with E, and E lies within e of M."""
    low, high = mean - eccentricity, mean + eccentricity
    while True:
        middle = (low + high) / 2
        if middle in (low, high):
            return middle
        if middle - eccentricity * math.sin(middle) < mean:
            low = middle
        else:
            high = middle


def position(orbit, days):
    """The place on an orbit: in its plane first, then turned by periapsis, inclination and node."""
    mean = math.radians(orbit['mean_anomaly']) + 2 * math.pi * (days / orbit['period'])
    mean = math.remainder(mean, 2 * math.pi)
    axis, eccentricity = orbit['semi_major_axis'], orbit['eccentricity']
    anomaly = eccentric_anomaly(mean, eccentricity)
    x = axis * (math.cos(anomaly) - eccentricity)
    y = axis * math.sqrt(1 - eccentricity ** 2) * math.sin(anomaly)
    z = 0.0
    for angle, turn in ((orbit['periapsis'], 'z'), (orbit['inclination'], 'x'), (orbit['ascending_node'], 'z')):
        c, s = math.cos(math.radians(angle)), math.sin(math.radians(angle))
        if turn == 'z':
            x, y = c * x - s * y, s * x + c * y
        else:
            y, z = c * y - s * z, s * y + c * z
    return x, y, z


def run(scene, plugin, folder):
    out = os.path.join(folder, plugin + '.json')
    subprocess.run([PROGRAM, 'run', scene, '--plugin', os.path.join(PLUGINS, plugin + '.so'), '--ticks', str(TICKS),
                    '--out', out], check=True, cwd=folder)
    with open(out, encoding='utf-8') as file:
        return json.load(file)['entities']


def worst_error(entities, scene, days):
    """The largest distance from where a body should be, as a part of its semi-major axis; and how many were compared."""
    elements = {entity['name']: entity['components']['Orbit'] for entity in scene['entities']
                if 'Orbit' in entity['components']}
    worst, compared = 0.0, 0
    for entity in entities:
        components = entity['components']
        if 'Orbit' not in components:
            continue
        orbit = elements.get(entity.get('name'), components['Orbit'])
        expected = position(orbit, days)
        actual = components['Transform']['position']
        worst = max(worst, max(abs(a - b) for a, b in zip(actual, expected)) / orbit['semi_major_axis'])
        compared += 1
    return worst, compared


def edited(scene, folder, name, components):
    """Runs ten ticks of the scene with one body's components changed; its exit code and messages."""
    path = os.path.join(folder, 'edited.json')
    changed = json.loads(json.dumps(scene))
    entity = next(entity for entity in changed['entities'] if entity['name'] == name)
    for component, fields in components.items():
        entity['components'][component].update(fields)
    with open(path, 'w', encoding='utf-8') as file:
        json.dump(changed, file)
    result = subprocess.run([PROGRAM, 'run', path, '--plugin', os.path.join(PLUGINS, 'orrery.so'), '--ticks', '10'],
                            cwd=folder, stderr=subprocess.PIPE, text=True, timeout=60)
    return result.returncode, result.stderr


def check_edits(scene, folder):
    """What a newcomer may write into the scene ends in a picture or in a message that names the body."""
    failures = []
    for components in ({'Orbit': {'eccentricity': 1.2}}, {'Orbit': {'period': 0}}):
        code, text = edited(scene, folder, 'mars', components)
        if code != 1 or 'the orbit of "mars" needs an eccentricity' not in text:
            failures.append(f'{components} ends with {code} and says {text!r}')
    for components in ({'Body': {'radius': 1e9}}, {'Body': {'radius': 0}}, {'Orbit': {'semi_major_axis': 1e30}}):
        code, text = edited(scene, folder, 'mars', components)
        if code != 0 or text:
            failures.append(f'{components} ends with {code} and says {text!r}')
    return failures


def check_journal(path, folder):
    """The run can be recorded, though bodies have names and the plugin draws into memory, and runs again as recorded."""
    plugin = ['--plugin', os.path.join(PLUGINS, 'orrery.so')]
    checksums = []
    for arguments in (['run', path, '--ticks', '20', '--checksum', '--journal', 'run.journal'],
                      ['replay', 'run.journal'], ['replay', 'run.journal', '--from', '7']):
        result = subprocess.run([PROGRAM, *arguments, *plugin], cwd=folder, capture_output=True, text=True, timeout=120)
        if result.returncode != 0:
            return [f'{" ".join(arguments)} ends with {result.returncode} and says {result.stderr!r}']
        checksums.append(re.search('checksum: .*', result.stdout)[0])
    return [] if len(set(checksums)) == 1 else [f'a replay ends in another state: {checksums}']


def main():
    with open(SCENE, encoding='utf-8') as file:
        scene = json.load(file)
    if not os.path.exists(os.path.join(PLUGINS, 'orrery.so')):
        print('no orrery was built: libpng is missing')
        return 77
    ephemeris = scene['entities'][0]['components']['Ephemeris']
    for entity in scene['entities']:
        if 'Belt' in entity['components']:
            entity['components']['Belt']['count'] = ASTEROIDS
    days = ephemeris['days'] + TICKS * ephemeris['days_per_tick']
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'scene.json')
        with open(path, 'w', encoding='utf-8') as file:
            json.dump(scene, file)
        right, compared = worst_error(run(path, 'orrery', folder), scene, days)
        off, _ = worst_error(run(path, 'orrery_off', folder), scene, days)
        failures = check_edits(scene, folder) + check_journal(path, folder)
        picture = os.path.getsize(os.path.join(folder, scene['entities'][0]['components']['Picture']['path']))
    bodies = sum('Orbit' in entity['components'] for entity in scene['entities'])
    print(f'{compared} bodies, worst error {right:.2e} of the axis; off by 1e-6 in mean motion: {off:.2e}')
    if compared != bodies + ASTEROIDS:
        failures.append(f'{compared} bodies were compared, expected {bodies + ASTEROIDS}')
    if not right <= TOLERANCE:
        failures.append(f'a body is {right:.2e} of its axis away from where it should be, allowed {TOLERANCE:.1e}')
    if not off > TOLERANCE:
        failures.append('an error of one part in a million in the mean motion goes unnoticed')
    if picture < 10000:
        failures.append(f'the picture has {picture} bytes')
    for failure in failures:
        print('FAILED:', failure)
    return 1 if failures else 0


if __name__ == '__main__':
    sys.exit(main())
