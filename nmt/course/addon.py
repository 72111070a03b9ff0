"""The course: lessons with exercises that check themselves (docs/course).

Delete this folder, tests/course and docs/course, and the rest of nmt stays as it is.
"""

from nmt.addons import AddOn

ADDON = AddOn(package="nmt.course", commands={"course": "copy the lessons of a course on attention; check exercises"})
